import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'
import type { Permission, Role } from '@palisade/protocol'
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAuthenticator } from '../../../server/src/identity/authenticate.ts'
import type { PolicyLimits } from '../../../server/src/governance/policy-limits.ts'
import { createAuditedStore } from '../../../server/src/history/audit/audited-store.ts'
import { composeGovernance } from '../../../server/src/governance/compose-governance.ts'
import { createKnownRules } from '../../../server/src/governance/known-rules.ts'
import { createApp, type AppDeps } from '../../../server/src/http/create-app.ts'
import type { Shortcut } from '../../../server/src/http/shortcut.ts'
import { createLog, type LogSettings } from '../../../server/src/operations/log/create-log.ts'
import { createMetrics } from '../../../server/src/operations/metrics/create-metrics.ts'
import {
  createWorkBudget,
  type BudgetLimits,
  type WorkBudget,
} from '../../../server/src/work/work-budget.ts'
import { listHeads } from '../../../server/src/store/list-heads.ts'
import type { Store } from '../../../server/src/store/store.ts'
import { createAccessTokenIssuer } from '../../../server/src/identity/tokens/access-token-jwt.ts'
import { createAccessTokenKeys } from '../../../server/src/identity/tokens/access-token-keys.ts'
import { startInProcess } from '../in-process-worker.ts'
import { openTestStore } from '../store/test-store.ts'
import { ensureSigningKeys } from '../../../server/src/identity/tokens/ensure-signing-keys.ts'
import { removeDirectory } from '../../remove-directory.ts'

/** The time at which every test starts; `advance` moves it. */
export const START = new Date('2026-11-21T08:00:00.500Z')

export interface GovernedAppOptions {
  readonly limits?: Partial<PolicyLimits>
  readonly routes?: AppDeps['routes']
  readonly trustedProxies?: AppDeps['trustedProxies']
  readonly log?: LogSettings['stream']
  readonly shortcut?: Shortcut
  readonly budget?: WorkBudget
}

/** Budgets so large that no test depends on its speed. */
const PLENTY: BudgetLimits = {
  organization: { burstMs: 1e9, perSecondMs: 1e6 },
  caller: { burstMs: 1e9, perSecondMs: 1e6 },
  reservedMs: 0,
}

/**
 * The application on a real store in a directory of its own. Organization `acme` has the owner
 * `olga`, the editor `ed`, the auditor `audrey` and the member `mia`, who is in `team`. `rival` is
 * another organization, owned by `rita`. `poor` has no governance and is owned by `olga`.
 */
export interface GovernedApp {
  readonly app: FastifyInstance
  readonly store: Store
  readonly team: string
  readonly rivalTeam: string
  advance(milliseconds: number): void
  /** Returns an access token of a user, limited to `permissions` if given. */
  tokenFor(username: string, permissions?: readonly Permission[]): Promise<string>
  organizationToken(org: string, permissions: readonly Permission[]): Promise<string>
  /** Sends as the user (default `olga`); an object as `payload` becomes JSON. */
  send(request: InjectOptions & { readonly as?: string | null }): Promise<LightMyRequestResponse>
  /** Deletes the policies of `acme`: the tests of a file can share an app. */
  clearPolicies(): Promise<void>
  close(): Promise<void>
}

export async function openGovernedApp(options: GovernedAppOptions = {}): Promise<GovernedApp> {
  const directory = await mkdtemp(join(tmpdir(), 'palisade-governance-'))
  const { store, discard } = await openTestStore(directory)
  let clock = START.getTime()
  const now = (): Date => new Date(clock)
  const teams = await seed(store)
  await ensureSigningKeys(store, 'access_token', now)
  const accessTokens = createAccessTokenIssuer({
    keys: createAccessTokenKeys({ store, now }),
    now,
    newId: randomUUID,
  })
  const authenticate = createAuthenticator({ store, accessTokens, now })
  const limits = { maxPolicies: 100, maxRules: 250, maxPolicyBytes: 409_600, ...options.limits }
  const pageTokenKey = randomBytes(32)
  const audited = createAuditedStore({ store, now })
  const governance = composeGovernance({
    audited,
    authenticate,
    limits,
    knownRules: createKnownRules(),
    budget: options.budget ?? createWorkBudget({ limits: PLENTY }),
    pageTokenKey,
    startWorker: startInProcess,
    sources: { now, random: randomBytes },
  })
  const app = await createApp({
    log: createLog(options.log === undefined ? false : { level: 'info', stream: options.log }),
    trustedProxies: options.trustedProxies ?? { kind: 'none' },
    ...(options.shortcut === undefined ? {} : { shortcut: options.shortcut }),
    metrics: createMetrics({ version: 'test' }).requests,
    newId: randomUUID,
    ping: () => store.ping(),
    routes: [governance.routes, ...(options.routes ?? [])],
  })

  async function insertToken(
    owner: { kind: 'personal'; username: string } | { kind: 'organization'; org: string },
    permissions: readonly Permission[],
  ): Promise<string> {
    const id = randomUUID()
    const secret_hash = createHash('sha256').update(id).digest('hex')
    const created_at = now().toISOString()
    const expires_at = new Date(clock + 3_600_000).toISOString()
    await store.transaction((writer) =>
      writer.accessTokens.insert({
        ...owner,
        id,
        name: 'test',
        permissions,
        secret_hash,
        created_at,
        expires_at,
        revoked_at: null,
        parent_id: null,
        prefix: 'pal_0000',
        created_by: 'operator',
        last_used_at: null,
      }),
    )
    return id
  }

  async function tokenFor(username: string, permissions?: readonly Permission[]): Promise<string> {
    const tokenId =
      permissions === undefined
        ? null
        : await insertToken({ kind: 'personal', username }, permissions)
    return accessTokens.issue({ kind: 'user', name: username, tokenId }, 900)
  }

  return {
    app,
    store,
    ...teams,
    advance(milliseconds) {
      clock += milliseconds
    },
    tokenFor,
    async organizationToken(org, permissions) {
      const tokenId = await insertToken({ kind: 'organization', org }, permissions)
      return accessTokens.issue({ kind: 'organization', name: org, tokenId }, 900)
    },
    async send({ as = 'olga', ...request }) {
      const authorization = as === null ? {} : { authorization: `Bearer ${await tokenFor(as)}` }
      return app.inject({ ...request, headers: { ...authorization, ...request.headers } })
    },
    clearPolicies: () =>
      store.transaction(async (writer) => {
        for (const { id } of await listHeads(writer, 'acme'))
          await writer.policies.delete('acme', id)
      }),
    async close() {
      await app.close()
      await discard()
      removeDirectory(directory)
    },
  }
}

async function seed(store: Store): Promise<{ team: string; rivalTeam: string }> {
  const created_at = START.toISOString()
  const team = randomUUID()
  const rivalTeam = randomUUID()
  const people: [string, string, Role][] = [
    ['acme', 'olga', 'owner'],
    ['acme', 'ed', 'editor'],
    ['acme', 'audrey', 'auditor'],
    ['acme', 'mia', 'member'],
    ['rival', 'rita', 'owner'],
    ['poor', 'olga', 'owner'],
  ]
  await store.transaction(async (writer) => {
    for (const name of ['acme', 'rival', 'poor'])
      await writer.organizations.insert({
        name,
        entitled: name !== 'poor',
        resolve_unlisted_names: false,
        created_at,
      })
    for (const person of new Set(people.map(([, username]) => username)))
      await writer.users.insert({ username: person, password_hash: null, created_at })
    for (const [org, username, role] of people)
      await writer.memberships.insert({ org, username, role })
    await writer.teams.insert({ id: team, org: 'acme', name: 'backend' })
    await writer.teams.insert({ id: rivalTeam, org: 'rival', name: 'backend' })
    await writer.teams.addMember('acme', team, 'mia')
  })
  return { team, rivalTeam }
}
