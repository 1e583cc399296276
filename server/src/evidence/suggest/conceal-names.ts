import type { SuggestionEvidence, SuggestionsResponse } from '@palisade/protocol'

/** Requests of a single device would show what its user does. */
const LEAST_DEVICES = 2

/**
 * Leaves out people, devices and programs, for callers who write policies but may not read the
 * decisions of others. Requests of single devices are left out entirely, also those in a wildcard.
 */
export function concealNames(answer: SuggestionsResponse): SuggestionsResponse {
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
