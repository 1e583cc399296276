import type { OrganizationClient } from '@palisade/client'
import type { AccessToken } from '@palisade/protocol'
import { count } from '../../terminal/count.ts'
import type { Style } from '../../terminal/style.ts'

/**
 * Lists live organization tokens that the user created and that exceed the user's permissions now.
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

/** Lines that name the tokens and the command that revokes each; empty without tokens. */
export function describeExceedingTokens(tokens: readonly AccessToken[], style: Style): string {
  if (tokens.length === 0) return ''
  const exceed = tokens.length === 1 ? 'exceeds its creator' : 'exceed their creators'
  const intro = `${count(tokens.length, 'organization token')} ${exceed} in permissions:`
  const lines = tokens.map(({ id, name }) =>
    style.plain(`  ${name}: palisade token revoke --organization ${id}`),
  )
  return [intro, ...lines, ''].join('\n')
}
