SELECT sum(AdvEngineID), count(*), avg(ResolutionWidth) FROM hits
