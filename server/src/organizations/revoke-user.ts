import type { StoreWriter } from '../store/store.ts'
import { formatUser } from '../identity/principal.ts'

/** How much of each kind was ended. */
export interface RevokedAccess {
  readonly personal_tokens: number
  readonly organization_tokens: number
  readonly devices: number
}

/**
 * Revokes every personal token of the user, with all made from them; returns the number of the
 * former.
 */
export async function revokePersonalTokens(
  writer: StoreWriter,
  username: string,
  now: Date,
): Promise<number> {
  const tokens = await writer.accessTokens.listOfUser(username)
  await writer.accessTokens.revokeOfUser(username, now.toISOString())
  return tokens.length
}

/**
 * Ends every access of the user: password and sessions, also sessions of an external issuer until
 * now, personal tokens, the organization and enrolment tokens that the user made, and the user's
 * machines. The user stays a member of all organizations.
 */
export async function revokeUser(
  writer: StoreWriter,
  username: string,
  now: Date,
): Promise<RevokedAccess> {
  const at = now.toISOString()
  await writer.users.updatePassword(username, null)
  await writer.users.endExternalSessions(username, at)
  await writer.knownNetworks.forget(username)
  const made = await writer.accessTokens.listMadeBy(formatUser(username))
  for (const org of new Set(made.map((token) => token.org)))
    await writer.accessTokens.revokeMadeBy(org, formatUser(username), at)
  const personal_tokens = await revokePersonalTokens(writer, username, now)
  let devices = 0
  for (const { org } of await writer.memberships.listOfUser(username)) {
    devices += (await writer.devices.revokeOfUser(org, username, at)).length
    await writer.enrolmentTokens.revokeMadeBy(org, formatUser(username), at)
  }
  return { personal_tokens, organization_tokens: made.length, devices }
}
