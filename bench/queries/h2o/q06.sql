SELECT id4, id5, median(v3) AS median, stddev_samp(v3) AS sd FROM x GROUP BY id4, id5
