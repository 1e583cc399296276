const LISTED_MS = 30 * 24 * 60 * 60 * 1000

/**
 * Lists leave out tokens that expired before this time. Access tokens count towards their quota as
 * long as they are listed, so that the quota bounds the lists.
 */
export function listedSince(now: Date): string {
  return new Date(now.getTime() - LISTED_MS).toISOString()
}
