-- Deliveries under way, however many wait: they are counted for every one that is begun.
CREATE INDEX webhook_delivery_leased ON webhook_delivery (endpoint_id, lease_until_ms) WHERE lease_until_ms IS NOT NULL;
