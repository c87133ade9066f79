"""TableRDD: a query as an RDD of typed rows, without anything run before it is needed."""
