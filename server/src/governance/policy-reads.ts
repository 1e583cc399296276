import { pageQuerySchema } from '@palisade/protocol'
import { authorize } from '../identity/authorize.ts'
import type { Answer } from '../http/answer.ts'
import { formatEntityTag, isKnown, readEntityTags, requireMatch } from '../http/input/entity-tag.ts'
import { readPage } from '../http/input/read-page.ts'
import { readQuery } from '../http/input/read-query.ts'
import {
  noQuerySchema,
  type GovernanceCall,
  type GovernanceRouteDeps,
  type PolicyCall,
} from './governance-call.ts'
import { findPolicy } from './policy-lookup.ts'
import { bodyOf, type PolicyView, type ViewCall } from './policy-views.ts'
import { CONTRACT, type WireForm } from './wire-form.ts'

const JSON_MEDIA_TYPE = 'application/json; charset=utf-8'

/** Lists one page of an organization's policies by ascending id. */
export async function listPolicies(
  deps: Pick<GovernanceRouteDeps, 'store' | 'pageTokenKey'>,
  call: GovernanceCall,
  form: WireForm = CONTRACT,
): Promise<Answer> {
  const { org } = call
  return deps.store.read(async (reader) => {
    await authorize(reader, call.principal, org, 'policies:read')
    const query = readQuery(pageQuerySchema, call.query)
    const list = { of: 'policies', owner: org } as const
    const { rows, next_page_token } = await readPage(deps, list, query, {
      read: ({ after, limit }) => reader.policies.list(org, { afterId: after, limit }),
      positionOf: ({ id }) => id,
    })
    const body = { data: rows.map(form.formatSummary), next_page_token }
    return { status: 200, headers: {}, body }
  })
}

/** Answers with the full policy, or with 304 when `If-None-Match` has its entity tag. */
export async function getPolicy(
  deps: Pick<GovernanceRouteDeps, 'store' | 'views'>,
  call: PolicyCall,
  form: WireForm = CONTRACT,
): Promise<Answer> {
  const asked = { ...call, form: form.name }
  const { etag, body } = deps.views.find(asked) ?? (await readView(deps, asked, form))
  readQuery(noQuerySchema, call.query)
  const ifMatch = readEntityTags('If-Match', call.ifMatch)
  const ifNoneMatch = readEntityTags('If-None-Match', call.ifNoneMatch)

  requireMatch(ifMatch, etag)
  if (isKnown(ifNoneMatch, etag)) return { status: 304, headers: { etag } }
  return { status: 200, headers: { etag, 'content-type': JSON_MEDIA_TYPE }, body }
}

async function readView(
  { store, views }: Pick<GovernanceRouteDeps, 'store' | 'views'>,
  call: PolicyCall & ViewCall,
  form: WireForm,
): Promise<PolicyView> {
  // Before the read: a commit during the read must make the kept view stale.
  const generation = store.generation()
  const policy = await store.read(async (reader) => {
    await authorize(reader, call.principal, call.org, 'policies:read')
    return findPolicy(reader, call.org, call.policyId)
  })
  const body = bodyOf(JSON.stringify(form.formatPolicy(policy)))
  const view = { etag: formatEntityTag(policy.revision), body }
  views.keep(call, generation, view)
  return view
}
