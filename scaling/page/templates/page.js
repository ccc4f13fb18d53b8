
"use strict";
(() => {
  // Tables: a click on a heading sorts up, then down, then as written; what is missing stays last, equals keep order.
  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

  const keyOf = (cell, isNumber) => {
    if (!cell || cell.classList.contains("m")) return null;
    const text = cell.title || cell.textContent;
    return isNumber ? Number(text.replace("inf", "Infinity")) : text;
  };

  const sortRows = (rows, column, isNumber, sign) => {
    const keys = new Map(rows.map((row) => [row, keyOf(row.cells[column], isNumber)]));
    const compare = isNumber ? (a, b) => (a < b ? -1 : a > b ? 1 : 0) : collator.compare;
    return rows.sort((first, second) => {
      const a = keys.get(first), b = keys.get(second);
      if (a === null || b === null) return (a === null) - (b === null);
      return sign * compare(a, b);
    });
  };

  const makeSortable = (table) => {
    const body = table.tBodies[0];
    const written = [...body.rows];
    const headings = [...table.tHead.rows[0].cells];
    headings.forEach((heading, column) => {
      const button = heading.firstElementChild;
      button.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        button.click();
      });
      button.addEventListener("click", () => {
        const before = heading.getAttribute("aria-sort");
        const next = before === "ascending" ? "descending" : before === "descending" ? null : "ascending";
        headings.forEach((other) => other.removeAttribute("aria-sort"));
        if (next) heading.setAttribute("aria-sort", next);
        const sign = next === "descending" ? -1 : 1;
        const isNumber = heading.classList.contains("n");
        body.replaceChildren(...(next ? sortRows([...body.rows], column, isNumber, sign) : written));
      });
    });
  };

  // The box above a table: rows that hold each of its words.
  const makeFiltered = (table, label, count) => {
    const rows = [...table.tBodies[0].rows];
    const all = count.textContent;
    const textOf = (row) => [...row.cells].map((cell) => `${cell.textContent} ${cell.title}`).join(" ").toLowerCase();
    let texts = null;
    label.hidden = false;
    label.querySelector("input").addEventListener("input", (event) => {
      texts ??= rows.map(textOf);
      const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      rows.forEach((row, i) => {
        row.hidden = !words.every((word) => texts[i].includes(word));
        shown += !row.hidden;
      });
      count.textContent = words.length ? `${shown.toLocaleString("en")} of ${all}` : all;
    });
  };

  document.querySelectorAll("div.table").forEach((part) => {
    const table = part.querySelector("table"), label = part.querySelector("label.filter");
    makeSortable(table);
    if (label) makeFiltered(table, label, part.querySelector(".count"));
  });

  // Figures: the point nearest to the pointer says what it is.
  const reach = (event) => (event.pointerType === "touch" ? 24 : 12); // pixels; a finger is less exact

  const nearest = (points, box, x, y, limit) => {
    let best = -1, least = limit * limit;
    points.forEach(([shareX, shareY], i) => {
      const dx = shareX * box.width - x, dy = shareY * box.height - y;
      const square = dx * dx + dy * dy;
      if (square <= least) [best, least] = [i, square];
    });
    return best;
  };

  const makeHoverable = (picture, points) => {
    const mark = picture.querySelector(".mark"), label = picture.querySelector(".label");
    let at = -1;
    const show = (i) => {
      at = i;
      mark.hidden = label.hidden = i < 0;
      if (i < 0) return;
      const [x, y, text] = points[i];
      const more = points.filter((other) => other[0] === x && other[1] === y).length - 1;
      label.textContent = more ? `${text}\n(and ${more} more at this place)` : text;
      mark.style.left = `${100 * x}%`;
      mark.style.top = `${100 * y}%`;
      label.style.top = `${100 * y}%`;
      label.style.left = x < 0.5 ? `${100 * x}%` : "auto";
      label.style.right = x < 0.5 ? "auto" : `${100 * (1 - x)}%`;
      label.classList.toggle("above", y > 0.5);
    };
    const follow = (event) => {
      const box = picture.getBoundingClientRect();
      show(nearest(points, box, event.clientX - box.left, event.clientY - box.top, reach(event)));
    };
    picture.addEventListener("pointermove", follow);
    picture.addEventListener("pointerdown", follow);
    picture.addEventListener("pointerleave", (event) => event.pointerType !== "touch" && show(-1));
    picture.addEventListener("blur", () => show(-1));
    picture.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1 }[event.key];
      if (event.key === "Escape") show(-1);
      if (!step) return;
      event.preventDefault();
      show(at < 0 && step < 0 ? points.length - 1 : (at + step + points.length) % points.length);
    });
  };

  document.querySelectorAll(".picture > script").forEach((island) => {
    makeHoverable(island.parentElement, JSON.parse(island.textContent));
  });
})();
