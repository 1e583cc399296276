import { serveReviews } from '../fleet/access/serve-reviews.ts'
import { serveThread } from '../platform/start-worker.ts'

/** A review takes up to a second; this gives it a third of the request thread's share of a CPU. */
const NICENESS = 5

serveThread(NICENESS, serveReviews)
