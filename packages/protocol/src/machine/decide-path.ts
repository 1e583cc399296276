// Without a schema, so that a program that asks one question starts without the schema library.

/** The path for decisions in the agent's local API; see `local-api.ts`. */
export const DECIDE_PATH = '/v1/decide'

/** Media type of a batch of requests, and of its answer. */
export const NDJSON = 'application/x-ndjson'

/** Most lines of a batch; text after the last line feed is a line. */
export const MAX_BATCH_LINES = 1_000

/** Most bytes of a batch with its line feeds. */
export const MAX_BATCH_BYTES = 4 * 1024 * 1024
