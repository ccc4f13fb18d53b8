"""What a trained model is asked: upstream error, few-shot probes, fine-tuning."""
