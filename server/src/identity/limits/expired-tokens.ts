const LISTED_MS = 30 * 24 * 60 * 60 * 1000

/**
 * Tokens that expired by then are not listed any more. Access tokens count towards their quota for
 * as long, so that lists stay short whatever is made.
 */
export function listedSince(now: Date): string {
  return new Date(now.getTime() - LISTED_MS).toISOString()
}
