"""Record what a run releases over one data set, replay it over a neighbour, and compare every byte."""
