import { askBriefly, type BriefDecision } from '@palisade/client'
import { reachAgent } from '../agent/reach-agent.ts'
import { EXIT } from '../runtime/exit-code.ts'
import type { AgentIo } from '../runtime/io.ts'
import type { AccessRequest } from './access-request.ts'
import { describeDenied, describeUndecided } from './denial-text.ts'

/**
 * Asks the agent about requests that must all be allowed. Resolves to the text of the first denial,
 * or null. Rejects with `CliError` when the agent cannot be asked.
 */
export async function findDenial(
  requests: readonly AccessRequest[],
  io: AgentIo,
  timeoutMs: number,
): Promise<string | null> {
  const decisions = await decideAll(requests, io, timeoutMs)
  for (const request of requests) {
    const decision = decisions.get(request)
    if (decision === undefined) return describeUndecided('the agent left a request undecided')
    if (decision.decision !== 'allow') return describeDenied(request, decision)
  }
  return null
}

/** One exchange for all paths, and one for each name, because a batch resolves no names. */
async function decideAll(
  requests: readonly AccessRequest[],
  io: AgentIo,
  timeoutMs: number,
): Promise<ReadonlyMap<AccessRequest, BriefDecision>> {
  const paths = requests.filter((request) => request.action !== 'connect:tcp')
  const names = requests.filter((request) => request.action === 'connect:tcp')
  const exchanges = [...(paths.length === 0 ? [] : [paths]), ...names.map((name) => [name])]
  const answers = await reachAgent(io, EXIT.failed, (address) =>
    Promise.all(exchanges.map((each) => askBriefly({ ...address, timeoutMs }, each))),
  )
  const found = new Map<AccessRequest, BriefDecision>()
  for (const [at, exchange] of exchanges.entries())
    for (const [index, request] of exchange.entries()) {
      const decision = answers[at]?.[index]
      if (decision !== undefined) found.set(request, decision)
    }
  return found
}
