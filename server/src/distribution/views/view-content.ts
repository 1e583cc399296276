import { effectivePolicies } from '@palisade/policy-core'
import {
  MAX_POLICIES_OF_VIEW,
  POLICY_DOCUMENT_SCHEMA,
  type DistributionSettings,
  type PolicyBody,
  type ViewPolicy,
  type ViewSettings,
} from '@palisade/protocol'
import { formatPolicy } from '../../governance/format-policy.ts'
import { formatCanonicalJson } from '../../history/canonical-json.ts'
import { limitExceeded } from '../../http/api-error.ts'
import type { DocumentRecord, OrganizationRecord, PolicyRecord } from '../../store/records.ts'
import type { StoreReader } from '../../store/store.ts'
import { sha256 } from './metadata.ts'
import { createRecent } from './recent.ts'
import { byName, formatEntry, joinEntries, type Listed } from './targets-text.ts'

/** Of formatted policies; an organization may have 40 MB by default, half of this at most. */
const MAX_BYTES = 96 * 1024 * 1024

/** What is not the organization's to choose: machines poll by a timetable of their own. */
const POLL_SECONDS = 5 * 60

/** A policy of the view, named by what it holds and by its own id, which tells nothing of others. */
export interface ViewDocument extends DocumentRecord, Listed {}

/** Everything that a view says, whenever it says it. */
export interface ViewContent {
  readonly documents: readonly ViewDocument[]
  /** `targets` of the targets file, in canonical JSON. */
  readonly listing: string
  readonly settings: ViewSettings
  /** Equal exactly when documents and settings are, apart from the revision they are read at. */
  readonly hash: string
}

export type ReadContent = (
  reader: StoreReader,
  organization: OrganizationRecord,
  teams: readonly string[],
) => Promise<ViewContent>

export interface ViewContents {
  /**
   * What machines of somebody in exactly `teams` enforce: the policies for everybody and those of
   * these teams, and nothing by which another policy could be told to exist. `organization` is as
   * `reader` has it. Throws ApiError 403 for more policies than a view may have.
   */
  read: ReadContent
  /**
   * The same for the reader of a transaction. Nothing is remembered: what it sees may be undone
   * together with it, and its revision be given to something else.
   */
  readUncommitted: ReadContent
}

/** Formats the policies of an organization once for all of its views. */
export function createViewContents(): ViewContents {
  const recent = createRecent<Formatted>(MAX_BYTES, ({ bytes }) => bytes)

  return {
    async read(reader, organization, teams) {
      const { name, revision } = organization
      const known = recent.find(name)
      const isKnown = known?.revision === revision
      const formatted = isKnown ? known : await formatAll(reader, name, revision)
      if (!isKnown) recent.keep(name, formatted)
      return select(formatted, organization, teams)
    },
    async readUncommitted(reader, organization, teams) {
      const { name, revision } = organization
      return select(await formatAll(reader, name, revision), organization, teams)
    },
  }
}

async function formatAll(reader: StoreReader, org: string, revision: number): Promise<Formatted> {
  const listed = (await reader.policies.listWithRules(org)).map(formatDocument)
  const policies = listed.toSorted((a, b) => byName(a.document, b.document))
  const bytes = policies.reduce((sum, { document }) => sum + document.body.byteLength, 0)
  return { revision, policies, bytes, distribution: await reader.organizations.distribution(org) }
}

function select(
  { policies, distribution }: Formatted,
  { revision, resolve_unlisted_names }: OrganizationRecord,
  teams: readonly string[],
): ViewContent {
  const effective = effectivePolicies(policies, teams)
  const documents = effective.map(({ document }) => document)
  if (documents.length > MAX_POLICIES_OF_VIEW)
    throw limitExceeded(`a machine may have at most ${MAX_POLICIES_OF_VIEW} policies`)
  const { offline_allow, ...times } = distribution
  const lasting = {
    ...times,
    poll_seconds: POLL_SECONDS,
    resolve_unlisted_names,
    ...(offline_allow.length === 0 ? {} : { offline_allow }),
  }
  const listing = joinEntries(documents.map(({ entry }) => entry))
  const hash = sha256(Buffer.from(`${formatCanonicalJson(lasting)}\n${listing}`))
  return { documents, listing, settings: { ...lasting, revision }, hash }
}

interface Formatted {
  readonly revision: number
  readonly policies: readonly FormattedPolicy[]
  readonly bytes: number
  readonly distribution: DistributionSettings
}

interface FormattedPolicy extends Pick<PolicyBody, 'id' | 'name' | 'scope'> {
  readonly document: ViewDocument
}

function formatDocument(policy: PolicyRecord): FormattedPolicy {
  const { scope, ...shown } = formatPolicy(policy)
  const { id, name } = policy
  const body = Buffer.from(JSON.stringify(shown satisfies ViewPolicy))
  const hash = sha256(body)
  const document = {
    name: `policies/${id}.json`,
    path: `policies/${hash}.${id}.json`,
    sha256: hash,
    body,
    custom: { mode: 'enforce', revision: policy.revision, schema: POLICY_DOCUMENT_SCHEMA },
  } as const
  return { id, name, scope, document: { ...document, entry: formatEntry(document) } }
}
