SELECT pageURL, pageRank FROM rankings WHERE pageRank > 1000
