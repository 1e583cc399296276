import { serveSuggestions } from './evidence/suggest/serve-suggestions.ts'
import { serveThread } from './platform/start-worker.ts'

/** Suggestions take seconds; this gives a third of the request thread's share of a busy CPU. */
const NICENESS = 5

serveThread(NICENESS, serveSuggestions)
