ALTER TABLE invoice ADD COLUMN currency text;
UPDATE invoice SET currency = 'EUR' WHERE currency IS NULL;
