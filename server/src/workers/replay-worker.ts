import { serveReplay } from '../evidence/replay/serve-replay.ts'
import { serveProcess } from '../work/serve-process.ts'

/** A replay takes seconds; this gives it a tenth of the request thread's share of a busy CPU. */
const NICENESS = 10

serveProcess(NICENESS, serveReplay)
