import { serveBatches } from '../evidence/ingest/serve-batches.ts'
import { serveThread } from '../platform/start-worker.ts'

/** Machines can wait; this gives it a third of the request thread's share of a busy CPU. */
const NICENESS = 5

serveThread(NICENESS, (port, data) => serveBatches(port, data))
