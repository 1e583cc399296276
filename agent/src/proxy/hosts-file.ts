/** Where the system keeps names of its own. */
export const HOSTS_FILE = '/etc/hosts'

/** The addresses that a hosts file gives a canonical name, in its order; see hosts(5). */
export function findHostAddresses(text: string, name: string): readonly string[] {
  // Block lists have 100,000 lines; most names are in none of them.
  const lower = text.toLowerCase()
  if (!lower.includes(name)) return []
  return lower.split('\n').flatMap((line) => {
    const [entry = ''] = line.split('#', 1)
    const [address = '', ...names] = entry.trim().split(/\s+/)
    return names.includes(name) ? [address] : []
  })
}
