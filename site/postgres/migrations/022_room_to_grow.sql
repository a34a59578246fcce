-- The rows of a day grow with each range: with room on their pages for the next version of each, their indexes are left alone. The
-- pages that there are stay as they are.
ALTER TABLE payer_days SET (fillfactor = 80);
ALTER TABLE amount_days SET (fillfactor = 80);
ALTER TABLE payee_days SET (fillfactor = 80);
ALTER TABLE payee_totals SET (fillfactor = 80);
---- create above / drop below ----
ALTER TABLE payer_days RESET (fillfactor);
ALTER TABLE amount_days RESET (fillfactor);
ALTER TABLE payee_days RESET (fillfactor);
ALTER TABLE payee_totals RESET (fillfactor);
