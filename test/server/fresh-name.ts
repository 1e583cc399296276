let last = 0

/**
 * Returns a name of an organization, a user or a device that no other test of the file has: one
 * server serves a file, and each test has an organization of its own.
 */
export function freshName(prefix: string): string {
  last += 1
  return `${prefix}-${last}`
}

/** Returns a function that gives each name an ending that no other test of the file has. */
export function freshNames(): (name: string) => string {
  const ending = freshName('')
  return (name) => name + ending
}
