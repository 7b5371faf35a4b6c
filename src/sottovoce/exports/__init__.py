"""Models for other tools: scikit-learn, ONNX, SQL, R and coefficients, none of which needs Sottovoce."""
