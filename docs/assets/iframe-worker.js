// A page that is read from a disk may start no worker, in which the search would run: an iframe does its work.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const iframe = Object.assign(document.createElement("iframe"), { hidden: true });
      document.body.appendChild(iframe);
      const inner = iframe.contentWindow;
      this.waiting = [];
      inner.document.open();
      inner.document.write("<!doctype html><html><body></body></html>");
      inner.document.close();
      inner.postMessage = (data) => {
        const event = new MessageEvent("message", { data });
        this.onmessage?.(event);
        this.dispatchEvent(event);
      };
      inner.importScripts = (...urls) =>
        urls.reduce((before, each) => before.then(() => this.load(inner, each)), Promise.resolve());
      this.load(inner, url).then(() => {
        this.send = (data) => inner.dispatchEvent(new MessageEvent("message", { data }));
        this.waiting.forEach(this.send);
      });
    }

    load(inner, url) {
      return new Promise((resolve, reject) => {
        const script = Object.assign(inner.document.createElement("script"), { src: url, onload: resolve, onerror: reject });
        inner.document.body.appendChild(script);
      });
    }

    postMessage(data) {
      this.send ? this.send(data) : this.waiting.push(data);
    }

    terminate() {}
  };
}
