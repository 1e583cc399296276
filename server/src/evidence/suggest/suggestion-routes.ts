import {
  suggestionsRequestSchema,
  suggestionsResponseSchema,
  type SuggestionEvidence,
  type SuggestionsResponse,
} from '@palisade/protocol'
import type { AuditedStore } from '../../history/audit/audited-store.ts'
import { authorize, requireEntitled, type Access } from '../../identity/authorize.ts'
import { payerOf } from '../../identity/payer.ts'
import { formatPrincipal } from '../../identity/principal.ts'
import { defineRoute, type Route } from '../../identity/routes/route.ts'
import type { WorkBudget } from '../../work/work-budget.ts'
import { permissionDenied } from '../../platform/api-error.ts'
import type { ProcessPool } from '../../work/process-pool.ts'
import { createNoteReading } from '../note-reading.ts'
import { answerSuggestions, type AnswerSuggestionsDeps } from './answer-suggestions.ts'

/** Requests of a single device would show what its user does. */
const LEAST_DEVICES = 2

export interface SuggestionRouteDeps extends Omit<AnswerSuggestionsDeps, 'store'> {
  readonly store: Pick<AuditedStore, 'note' | 'read'>
  readonly budget: WorkBudget
  readonly monotonicMs: () => number
  readonly processes: ProcessPool
}

/** `POST /api/v1/orgs/:org/suggestions` */
export function suggestionRoutes(deps: SuggestionRouteDeps): readonly Route[] {
  const note = createNoteReading(deps, 'suggestions')

  return [
    defineRoute(
      {
        method: 'POST',
        path: '/api/v1/orgs/:org/suggestions',
        operationId: 'suggestPolicies',
        tags: ['audit'],
        summary: 'Suggest the narrowest rules for requests that no rule matches',
        // Two permissions, and one of them or another: see `requireRight`.
        permission: null,
        lookUp(_reader, _params, { principal, access }) {
          requireRight(access)
          deps.budget.require(payerOf(principal, access))
        },
        body: suggestionsRequestSchema,
        answers: { 200: suggestionsResponseSchema },
        errors: [403, 429],
      },
      async ({ caller, params: { org }, body, request }) => {
        const access = await deps.store.read((reader) => authorize(reader, caller, org, null))
        const { seesNames } = requireRight(access)
        if (!seesNames) requireNameless(body)
        await note(caller, org)
        const isGone = () => request.raw.socket.destroyed
        const who = { org, caller: formatPrincipal(caller) }
        return deps.processes.run(who, async (startWorker) => {
          const work = deps.budget.begin(payerOf(caller, access))
          try {
            const made = await answerSuggestions(deps, org, body, { work, isGone, startWorker })
            return seesNames ? made : concealNames(made)
          } finally {
            work.end()
          }
        })
      },
    ),
  ]
}

/**
 * Suggestions are for those who write policies and for those who audit them. Without `audit:read`
 * they name no people, devices and programs. Throws 403.
 */
function requireRight({ permissions, organization }: Access): { readonly seesNames: boolean } {
  const seesNames = permissions.includes('audit:read')
  if (!permissions.includes('policies:read'))
    throw permissionDenied('this needs the permission `policies:read`')
  if (!seesNames && !permissions.includes('policies:write'))
    throw permissionDenied('this needs the permission `policies:write` or `audit:read`')
  requireEntitled(organization)
  return { seesNames }
}

/** Throws 403 for what would show the requests of single people or programs. */
function requireNameless({
  by,
  min_devices = LEAST_DEVICES,
}: {
  readonly by: string
  readonly min_devices?: number | undefined
}): void {
  if (by !== 'team') throw permissionDenied(`\`by: ${by}\` needs the permission \`audit:read\``)
  if (min_devices < LEAST_DEVICES)
    throw permissionDenied(
      `\`min_devices\` below ${LEAST_DEVICES} needs the permission \`audit:read\``,
    )
}

/**
 * Leaves out people, devices and programs, for callers who write policies but may not read the
 * decisions of others. Requests of single devices are left out entirely, also those in a wildcard.
 */
function concealNames(answer: SuggestionsResponse): SuggestionsResponse {
  return {
    ...answer,
    suggestions: answer.suggestions.map((each) => ({
      ...each,
      evidence: withoutNames(each.evidence),
      replaces: [],
    })),
    not_covered: answer.not_covered
      .filter(({ evidence }) => evidence.devices >= LEAST_DEVICES)
      .map((each) => ({ ...each, evidence: withoutNames(each.evidence) })),
  }
}

function withoutNames(evidence: SuggestionEvidence): SuggestionEvidence {
  return { ...evidence, usernames: [], device_ids: [], programs: [] }
}
