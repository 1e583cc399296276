import { serveThread } from '../platform/start-worker.ts'
import { serveCheckpoints } from '../store/sqlite/serve-checkpoints.ts'

/** A checkpoint waits for the disk most of the time, so it keeps the priority of the server. */
const NICENESS = 0

serveThread(NICENESS, serveCheckpoints)
