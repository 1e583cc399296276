import { servePolicies } from '../governance/compilation/serve-policies.ts'
import { serveThread } from '../platform/start-worker.ts'

/** Compiling takes seconds; this gives it a third of the request thread's share of a busy CPU. */
const NICENESS = 5

serveThread(NICENESS, servePolicies)
