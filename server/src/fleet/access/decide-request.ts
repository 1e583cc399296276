import { isNoWider } from '@palisade/policy-analysis'
import type { AccessRequest, AccessState } from '@palisade/protocol'
import { randomUUID } from 'node:crypto'
import { formatAccessRequest } from '../../store/aggregates/policies/format-access-request.ts'
import type { Caller } from '../../identity/principal.ts'
import { conflict, invalidArgument, limitExceeded } from '../../platform/api-error.ts'
import type { AccessRequestRecord } from '../../store/access-records.ts'
import type { StoreWriter } from '../../store/store.ts'
import { formatTufTime } from '../../views/keys/metadata.ts'
import { requireDuration } from './create-request.ts'
import { compileAllowed } from './require-grantable.ts'

/** What somebody asks for, or is granted. */
export type Wanted = Pick<AccessRequestRecord, 'action' | 'duration_seconds' | 'resources'>

const MAX_NARROWING_STEPS = 100_000

/** Who decides, when. */
export interface Decider {
  readonly decided_by: string
  readonly now: Date
}

export function byWhom({ author }: Caller): Pick<Decider, 'decided_by'> {
  return { decided_by: author.actor }
}

/** Throws ApiError 400, 403 and 409. */
export async function approveRequest(
  writer: StoreWriter,
  request: AccessRequestRecord,
  wanted: Decider & {
    readonly resources: readonly string[]
    readonly duration_seconds: number
    readonly once: boolean
    readonly answer: string | null
  },
): Promise<AccessRequest> {
  const { org, username } = request
  const { now, resources, duration_seconds, once, answer, decided_by } = wanted
  const { longest_seconds, most_open } = await writer.organizations.access(org)
  requireDuration(duration_seconds, longest_seconds)
  const open = await writer.accessRequests.listGrants(org, username, now.toISOString())
  if (open.length >= most_open)
    throw limitExceeded(
      `\`${username}\` has ${open.length} grants in force, and ${most_open} are the most; ` +
        'revoke one, or wait until one ends',
    )
  // Whole seconds, as they are signed.
  const fromMs = Math.floor(now.getTime() / 1000) * 1000
  const untilMs = fromMs + duration_seconds * 1000
  const grant = {
    resources,
    not_before: formatTufTime(fromMs),
    expires_at: formatTufTime(untilMs),
    ...(once ? { once } : {}),
  }
  return replaceRequest(writer, request, 'pending', {
    ...request,
    state: 'approved',
    due_at: new Date(untilMs).toISOString(),
    decided_at: now.toISOString(),
    decided_by,
    answer,
    grant,
  })
}

/** Ends a request or a grant. Throws 409 for one in another state than `from`. */
export async function decideRequest(
  writer: StoreWriter,
  request: AccessRequestRecord,
  from: AccessState,
  {
    state,
    answer,
    decided_by,
    now,
  }: Decider & { readonly state: AccessState; readonly answer: string | null },
): Promise<AccessRequest> {
  const decided_at = now.toISOString()
  const after = { ...request, state, due_at: null, decided_at, decided_by, answer }
  return replaceRequest(writer, request, from, after)
}

/** Throws 409 also for one whose time is over, before the server has noted that. */
export function requireState(
  { state, due_at }: AccessRequestRecord,
  from: AccessState,
  now: Date,
): void {
  if (state !== from) throw conflict(`the request is \`${state}\`, not \`${from}\``)
  if (due_at === null || due_at > now.toISOString()) return
  throw conflict(`the request is \`${state === 'pending' ? 'lapsed' : 'expired'}\` already`)
}

/** Throws 400 unless the grant opens no more, for no longer, than was asked for. */
export function requireNarrower(
  request: Wanted,
  { resources, duration_seconds }: Omit<Wanted, 'action'>,
): void {
  if (duration_seconds > request.duration_seconds)
    throw invalidArgument(
      `\`duration_seconds\` must be at most ${request.duration_seconds}, as requested`,
      { field: 'duration_seconds' },
    )
  const granted = { action: request.action, resources }
  const maxSteps = MAX_NARROWING_STEPS
  // The server does not know the directory that `~` stands for, and no full path names this one.
  const home = `/${randomUUID()}`
  const [before, after] = [compileAllowed(request, home), compileAllowed(granted, home)]
  if (isNoWider(before, after, { maxSteps }).answer !== 'yes')
    throw invalidArgument('`resources` must open no more than the requested ones', {
      field: 'resources',
      reason: 'wider',
    })
}

async function replaceRequest(
  writer: StoreWriter,
  before: AccessRequestRecord,
  from: AccessState,
  after: AccessRequestRecord,
): Promise<AccessRequest> {
  requireState(before, from, new Date(after.decided_at ?? after.created_at))
  // Of two that decide at once, the later finds another state.
  if (!(await writer.accessRequests.update(after, from)))
    throw conflict('the request has just been decided by another')
  return formatAccessRequest(after)
}
