import { serveReplay } from './evidence/replay/serve-replay.ts'
import { serveThread } from './platform/start-worker.ts'

/** A replay takes seconds; this gives it a tenth of the request thread's share of a busy CPU. */
const NICENESS = 10

serveThread(NICENESS, serveReplay)
