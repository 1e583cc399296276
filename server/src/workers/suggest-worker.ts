import { serveSuggestions } from '../evidence/suggest/run-suggestions.ts'
import { serveProcess } from '../work/serve-process.ts'

/** Suggestions take seconds; this gives a tenth of the request thread's share of a busy CPU. */
const NICENESS = 10

serveProcess(NICENESS, serveSuggestions)
