SELECT substr(sourceIP, 1, 8) AS prefix, sum(adRevenue) AS revenue FROM uservisits GROUP BY substr(sourceIP, 1, 8)
