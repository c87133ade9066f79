"""Reading and writing of tables' data: file formats, storage, lake tables, Kafka."""
