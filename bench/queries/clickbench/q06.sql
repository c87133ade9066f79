SELECT count(DISTINCT SearchPhrase) FROM hits
