import { unusedRulesResponseSchema, type UnusedRule, type UnusedRules } from '@palisade/protocol'
import { unexpected } from '../client-error.ts'
import type { Call } from './call.ts'
import { formatQuery } from './server-url.ts'

/** The unused rules of an organization, and the evidence that they follow from. */
export interface UnusedRulesReport {
  readonly evidence: UnusedRules['evidence']
  readonly rules: readonly UnusedRule[]
}

/** Fetches all pages. Throws `ClientError`. */
export async function fetchUnusedRules(
  call: Call,
  path: string,
  since: string | undefined,
): Promise<UnusedRulesReport> {
  const rules: UnusedRule[] = []
  const seen = new Set<string>()
  let token: string | undefined
  for (;;) {
    const url = path + formatQuery({ since, page_token: token })
    const page: UnusedRules = await call({ method: 'GET', path: url }, unusedRulesResponseSchema)
    rules.push(...page.data)
    if (page.next_page_token === null) return { evidence: page.evidence, rules }
    token = page.next_page_token
    // A server that repeats a page token would cause an endless loop.
    if (seen.has(token)) throw unexpected('a page token came twice')
    seen.add(token)
  }
}
