import { serveSuggestions } from './evidence/suggest/serve-suggestions.ts'
import { serveProcess } from './work/serve-process.ts'

/** Suggestions take seconds; this gives a third of the request thread's share of a busy CPU. */
const NICENESS = 5

serveProcess(NICENESS, serveSuggestions)
