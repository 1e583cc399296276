import { parseFailure } from '../parse-answer.ts'
import type { AgentAnswer } from './agent-exchange.ts'

/** Throws the error that another answer than 2xx names. */
export function requireSuccess({ status, text }: AgentAnswer): void {
  if (status < 200 || status > 299) throw parseFailure(status, text)
}
