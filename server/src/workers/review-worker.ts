import { serveReviews } from '../fleet/access/serve-reviews.ts'
import { serveProcess } from '../work/serve-process.ts'

/** A review takes seconds; this gives it a third of the request thread's share of a busy CPU. */
const NICENESS = 5

serveProcess(NICENESS, serveReviews)
