import type { OrganizationClient } from '@palisade/client'
import type { AccessToken } from '@palisade/protocol'
import { count } from '../terminal/count.ts'
import type { Style } from '../terminal/style.ts'

/**
 * Live tokens of the organization that the user made and that may do more than the user may now.
 */
export async function listExceedingTokens(
  { accessTokens }: Pick<OrganizationClient, 'accessTokens'>,
  username: string,
): Promise<readonly AccessToken[]> {
  const made = (await accessTokens.list()).filter(
    ({ created_by }) => created_by === `user:${username}`,
  )
  return made.filter(isExceeding)
}

export function isExceeding({ exceeds_creator, expired }: AccessToken): boolean {
  return exceeds_creator === true && !expired
}

/** Lines that name the tokens and say how each is revoked; empty without tokens. */
export function describeExceedingTokens(tokens: readonly AccessToken[], style: Style): string {
  if (tokens.length === 0) return ''
  const [verb, makers] = tokens.length === 1 ? ['does', 'its maker'] : ['do', 'their makers']
  const intro = `${count(tokens.length, 'token')} of the organization still ${verb} what ${makers} may not any more:`
  const lines = tokens.map(({ id, name }) =>
    style.plain(`  ${name}: palisade token revoke --organization ${id}`),
  )
  return [intro, ...lines, ''].join('\n')
}
