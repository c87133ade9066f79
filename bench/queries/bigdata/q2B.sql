SELECT substr(sourceIP, 1, 10) AS prefix, sum(adRevenue) AS revenue FROM uservisits GROUP BY substr(sourceIP, 1, 10)
