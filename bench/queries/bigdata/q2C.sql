SELECT substr(sourceIP, 1, 12) AS prefix, sum(adRevenue) AS revenue FROM uservisits GROUP BY substr(sourceIP, 1, 12)
