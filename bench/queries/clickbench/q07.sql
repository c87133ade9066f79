SELECT min(EventDate), max(EventDate) FROM hits
