import {
  formatEnrolmentToken,
  type CreateEnrolmentTokenRequest,
  type CreatedEnrolmentToken,
  type EnrolmentToken,
  type ListEnrolmentTokensResponse,
  type PageQuery,
} from '@palisade/protocol'
import { findParent } from '../../organizations/access-token-service.ts'
import { authorize, requireEntitled } from '../../identity/authorize.ts'
import { listedSince } from '../../identity/limits/expired-tokens.ts'
import { requireRoom, type Quotas } from '../../identity/limits/quotas.ts'
import type { Caller } from '../../identity/principal.ts'
import type { AuditedStore } from '../../history/audit/audited-store.ts'
import type { Answer } from '../../http/answer.ts'
import { notFound } from '../../platform/api-error.ts'
import { readPage } from '../../http/input/read-page.ts'
import type { OnceRequest } from '../../identity/idempotency/answer-once.ts'
import { createOnce } from '../../identity/idempotency/idempotent-post.ts'
import type { EnrolmentTokenRecord } from '../../store/distribution-records.ts'
import type { StoreReader } from '../../store/store.ts'
import { createSecretToken, hashSecretToken } from '../../identity/tokens/secret-token.ts'
import type { EnrolDeps } from './enrol-device.ts'
import { sha256 } from '../../views/keys/metadata.ts'
import { ensureTrust } from '../../views/keys/trust.ts'

const DAY_MS = 24 * 60 * 60 * 1000
/** `pal_enr_` and four characters, too few to help an attacker who guesses. */
const PREFIX_LENGTH = 12

export interface EnrolmentTokenServiceDeps extends EnrolDeps {
  readonly store: AuditedStore
  readonly quotas: Quotas
  readonly pageTokenKey: Uint8Array
  readonly random: (bytes: number) => Uint8Array
  /** Origin under which devices reach this server. */
  readonly publicUrl: () => string
}

/** Everything throws ApiError and is for administrators alone. */
export interface EnrolmentTokenService {
  /** Not revoked, by creation; expired ones for 30 days. */
  list(caller: Caller, org: string, query: PageQuery): Promise<ListEnrolmentTokensResponse>
  /**
   * Creates a token. As with access tokens, a token made in the session of another token expires no
   * later than that one, and is invalid once that one is revoked. A member's token ends when the
   * member leaves or is no owner any more.
   */
  create(
    caller: Caller,
    org: string,
    request: CreateEnrolmentTokenRequest,
    once: OnceRequest,
  ): Promise<Answer>
  /** Devices that were enrolled with it stay. */
  revoke(caller: Caller, org: string, id: string): Promise<void>
}

export function createEnrolmentTokenService(
  deps: EnrolmentTokenServiceDeps,
): EnrolmentTokenService {
  const { store, now } = deps

  return {
    list: (caller, org, query) =>
      store.read(async (reader) => {
        await authorize(reader, caller, org, 'organization:admin')
        const list = { of: 'enrolment_tokens', owner: org } as const
        const expiresAfter = listedSince(now())
        const { rows, next_page_token } = await readPage(deps, list, query, {
          read: (page) => reader.enrolmentTokens.page(org, { ...page, expiresAfter }),
          positionOf: ({ id }) => id,
        })
        return { data: rows.map((token) => formatToken(token, now())), next_page_token }
      }),

    create: (caller, org, request, once) =>
      store.write(caller.author, async (writer) => {
        const access = await authorize(writer, caller, org, 'organization:admin')
        requireEntitled(access.organization)
        const parent = await findParent(deps, writer, caller)
        return createOnce(writer, once, now(), async () => {
          const count = await writer.enrolmentTokens.countLive(org, now().toISOString())
          requireRoom(count, deps.quotas.enrolmentTokens, 'revoke unused enrolment tokens')
          const { root } = await ensureTrust(writer, org, now())
          const made = makeToken(deps, org, request, {
            root_version: root.version,
            created_by: caller.author.actor,
            parent_id: parent?.id ?? null,
            expires_before: parent?.expires_at ?? null,
          })
          await writer.enrolmentTokens.insert(made.record)
          const token = formatEnrolmentToken({
            secret: made.secret,
            org,
            root_sha256: sha256(root.body),
            server: deps.publicUrl(),
          })
          return { ...formatToken(made.record, now()), token } satisfies CreatedEnrolmentToken
        })
      }),

    revoke: (caller, org, id) =>
      store.write(caller.author, async (writer) => {
        await authorize(writer, caller, org, 'organization:admin')
        await requireEnrolmentToken(writer, org, id)
        await writer.enrolmentTokens.revoke(org, id, now().toISOString())
      }),
  }
}

/** Throws 404 unless the organization has a token with this id that is not revoked. */
export async function requireEnrolmentToken(
  reader: StoreReader,
  org: string,
  id: string,
): Promise<void> {
  if ((await reader.enrolmentTokens.find(org, id)) === null)
    throw notFound('enrolment token not found')
}

function makeToken(
  deps: Pick<EnrolmentTokenServiceDeps, 'newId' | 'now' | 'random'>,
  org: string,
  { name, labels = [], max_uses, expires_in_days }: CreateEnrolmentTokenRequest,
  origin: Pick<EnrolmentTokenRecord, 'root_version' | 'created_by' | 'parent_id'> & {
    readonly expires_before: string | null
  },
): { readonly record: EnrolmentTokenRecord; readonly secret: string } {
  const secret = createSecretToken('enrolment', deps.random)
  const now = deps.now()
  const wanted = new Date(now.getTime() + expires_in_days * DAY_MS).toISOString()
  const { expires_before, ...made } = origin
  const record = {
    ...made,
    id: deps.newId(),
    org,
    name,
    labels: labels.toSorted(),
    secret_hash: hashSecretToken(secret),
    prefix: secret.slice(0, PREFIX_LENGTH),
    max_uses,
    uses: 0,
    last_used_at: null,
    created_at: now.toISOString(),
    expires_at: expires_before !== null && expires_before < wanted ? expires_before : wanted,
    revoked_at: null,
  }
  return { record, secret }
}

function formatToken(record: EnrolmentTokenRecord, now: Date): EnrolmentToken {
  const { id, name, labels, prefix, max_uses, uses, last_used_at } = record
  const { created_at, created_by, expires_at } = record
  return {
    id,
    name,
    labels: [...labels],
    prefix,
    max_uses,
    uses,
    last_used_at,
    created_at,
    created_by,
    expires_at,
    expired: expires_at <= now.toISOString(),
  }
}
