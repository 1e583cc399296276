import { domainOf } from '@palisade/policy-core'
import { nameSchema, teamIdSchema, type SuggestionsResponse } from '@palisade/protocol'
import type { Proposal } from './propose-resources.ts'
import { ownerOfName } from './registrable-domain.ts'
import { countDevices } from './summarize-evidence.ts'

/** An organization has 100 policies by default, and others are there already. */
const MOST_POLICIES = 40
/** Most rules of one policy, below the limits of the server. */
const MOST_RULES = 200
const MOST_RESOURCES_OF_RULE = 50
const MOST_CHARACTERS = 200_000
/** Most resources of the document: an editor reads all of them. */
const MOST_RESOURCES = 1_000
const LONGEST_NAME = 200

type SuggestedDocument = SuggestionsResponse['document']
type DocumentPolicy = SuggestedDocument['policies'][number]
type DocumentRule = DocumentPolicy['rules'][number]

/** A proposal with the names of its policy and rule. */
export interface WrittenProposal {
  readonly proposal: Proposal
  readonly policy: string
  readonly rule: string
}

export interface ComposedDocument {
  readonly document: SuggestedDocument
  /** All proposals but those beyond the limits, which have the fewest devices. */
  readonly written: readonly WrittenProposal[]
}

/**
 * Writes the proposals as new policies. A policy of a document replaces the one of the same name
 * with all its rules, so each name is one that the organization does not have.
 */
export function composeDocument(
  proposals: readonly Proposal[],
  existing: readonly { readonly name: string }[],
): ComposedDocument {
  const names = createNames(existing.map(({ name }) => name))
  const byDevices = proposals
    .map((proposal) => ({ proposal, devices: countDevices(proposal.seen) }))
    .toSorted(
      (a, b) => b.devices - a.devices || (a.proposal.resource < b.proposal.resource ? -1 : 1),
    )
    .map(({ proposal }) => proposal)
  const groups = Map.groupBy(byDevices.slice(0, MOST_RESOURCES), policyKey)
  const parts = [...groups.values()]
    .slice(0, MOST_POLICIES)
    .map((group) => composePolicy(group, names.take(describePolicy(group[0]))))
  return {
    document: { policies: parts.map(({ policy }) => policy) },
    written: parts.flatMap(({ written }) => written),
  }
}

/** A policy has rules of one domain. */
function policyKey({ audience, program, action }: Proposal): string {
  return JSON.stringify([audience.team?.id ?? null, program, domainOf(action)])
}

function describePolicy(proposal: Proposal | undefined): string {
  if (proposal === undefined) return ''
  const { audience, program, action } = proposal
  const audienceName = audience.team?.name ?? 'everybody'
  const ofProgram = program === null ? '' : `, ${program.split('/').at(-1) ?? ''}`
  const kind = domainOf(action) === 'filesystem' ? ' (files)' : ''
  return `suggested for ${audienceName}${ofProgram}${kind}`
}

function composePolicy(
  proposals: readonly Proposal[],
  name: string,
): { readonly policy: DocumentPolicy; readonly written: readonly WrittenProposal[] } {
  const names = createNames([])
  const rules: DocumentRule[] = []
  const written: WrittenProposal[] = []
  let characters = 0
  for (const [title, group] of Map.groupBy(proposals, describeRule))
    for (let first = 0; first < group.length; first += MOST_RESOURCES_OF_RULE) {
      const some = group.slice(first, first + MOST_RESOURCES_OF_RULE)
      const [{ action }] = some as [Proposal, ...Proposal[]]
      const resources = some.map(({ resource }) => resource)
      const length = resources.join().length
      if (rules.length === MOST_RULES || characters + length > MOST_CHARACTERS) continue
      characters += length
      const rule = names.take(title)
      rules.push({ name: rule, actions: [action], decision: 'allow', resources })
      written.push(...some.map((proposal) => ({ proposal, policy: name, rule })))
    }
  const team = proposals[0]?.audience.team ?? null
  const scope = team === null ? {} : { teams: [writeTeam(team)] }
  return { policy: { name, scope, rules }, written }
}

/** The name; a name in the form of a UUID would be read as an id. */
export function writeTeam({ id, name }: { readonly id: string; readonly name: string }): string {
  return teamIdSchema.safeParse(name).success ? id : name
}

/** One rule for the names of a domain on a port, or the files of a directory. */
function describeRule({ action, candidates: [candidate] }: Proposal): string {
  const { host, port, path } = candidate.target
  if (path !== null) return `${action} ${path.slice(0, path.lastIndexOf('/'))}`
  return `${action} ${ownerOfName(host ?? '').domain ?? host ?? ''}:${port}`
}

/** Makes names that differ from each other and from those taken. */
function createNames(taken: readonly string[]): { take(wanted: string): string } {
  const used = new Set(taken)
  return {
    take(wanted) {
      // Paths of programs are from machines: no control or invisible character goes on.
      const clean = wanted.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '').trim()
      const short = [...clean].slice(0, LONGEST_NAME).join('')
      const base = nameSchema.safeParse(short).data ?? 'suggested'
      for (let count = 1; ; count += 1) {
        const name = count === 1 ? base : `${base} ${count}`
        if (used.has(name)) continue
        used.add(name)
        return name
      }
    },
  }
}
