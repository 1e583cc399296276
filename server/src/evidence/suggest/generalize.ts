/** Something with a place in a tree: a name by its labels from the right, or a path. */
export interface TreeItem {
  readonly segments: readonly string[]
}

/** A wildcard below `base`, for one level or for all. */
export interface Wildcard<Item> {
  readonly base: readonly string[]
  readonly levels: 'one' | 'all'
  readonly items: readonly Item[]
}

export interface GeneralizeRules<Item> {
  /** Items that a wildcard must replace. */
  readonly least: number
  /** Whether a wildcard below `base` may stand for these items. */
  readonly accepts: (base: readonly string[], items: readonly Item[]) => boolean
}

/**
 * Finds the wildcards that replace many items: first one level below a common parent, then all
 * levels below the deepest common parent of the rest. An item without a wildcard stays as it is.
 */
export function generalize<Item extends TreeItem>(
  items: readonly Item[],
  { least, accepts }: GeneralizeRules<Item>,
): readonly Wildcard<Item>[] {
  const flat = [...groupBy(items, (item) => JSON.stringify(parentOf(item))).values()].flatMap(
    (siblings): Wildcard<Item>[] => {
      const [first] = siblings
      if (first === undefined || siblings.length < least) return []
      const base = parentOf(first)
      return accepts(base, siblings) ? [{ base, levels: 'one', items: siblings }] : []
    },
  )
  const taken = new Set(flat.flatMap((wildcard) => wildcard.items))
  const rest = items.filter((item) => !taken.has(item))
  const base = commonParent(rest)
  if (rest.length < least || !accepts(base, rest)) return flat
  const inside = flat.filter((each) => startsWith(each.base, base))
  const deep: Wildcard<Item> = {
    base,
    levels: 'all',
    items: [...rest, ...inside.flatMap((each) => each.items)],
  }
  return [...flat.filter((each) => !inside.includes(each)), deep]
}

export function groupBy<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
): ReadonlyMap<string, Item[]> {
  const groups = new Map<string, Item[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return groups
}

function parentOf({ segments }: TreeItem): readonly string[] {
  return segments.slice(0, -1)
}

function commonParent(items: readonly TreeItem[]): readonly string[] {
  const [first, ...others] = items
  if (first === undefined) return []
  let common = parentOf(first)
  for (const other of others) {
    const parent = parentOf(other)
    const end = common.findIndex((segment, index) => segment !== parent[index])
    if (end !== -1) common = common.slice(0, end)
  }
  return common
}

function startsWith(segments: readonly string[], base: readonly string[]): boolean {
  return base.every((segment, index) => segment === segments[index])
}
