/** "palisad" as a number. */
const LOCK = String(0x70616c69736164n)

/**
 * Makes writers of all processes take turns, until the end of the transaction. Advisory locks are
 * kept for each database apart.
 */
export const TAKE_WRITE_LOCK = `SELECT pg_advisory_xact_lock(${LOCK})`
