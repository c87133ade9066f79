SELECT avg(UserID) FROM hits
