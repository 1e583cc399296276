import type { Policy } from '@palisade/policy-core'
import type { SuggestionOptions } from '@palisade/protocol'
import type { ObservedRequest, Sighting } from '../observed/read-observed.ts'
import type { EvidenceTuple } from '../store/evidence-record.ts'

/** A recorded request as far as suggestions read it. */
export interface RecordedRequest extends Pick<ObservedRequest, 'sightings'> {
  readonly tuple: Pick<
    EvidenceTuple,
    | 'protocol'
    | 'action'
    | 'host'
    | 'port'
    | 'address'
    | 'path'
    | 'path_cut'
    | 'decision'
    | 'reason'
    | 'rules'
    | 'program'
  >
}

/** A team of the organization. */
export interface SuggestTeam {
  readonly id: string
  readonly name: string
}

/** A member and the ids of the teams that the member is in. */
export interface SuggestMember {
  readonly username: string
  readonly teams: readonly string[]
}

/** The organization as it is now. */
export interface SuggestOrganization {
  readonly policies: readonly Policy[]
  readonly teams: readonly SuggestTeam[]
  readonly members: readonly SuggestMember[]
}

/** The part of the options that the calculation reads. */
export type SuggestRules = Omit<SuggestionOptions, 'since' | 'until'> & {
  readonly min_devices: number
}

/** A sighting with the program that the record names. */
export interface Seen extends Sighting {
  readonly program: string | null
}
