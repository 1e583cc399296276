/** A member in words of an error, such as `rules[0].resources[2]`, as a path. */
export function pathOfMember(member: string): readonly PropertyKey[] {
  return [...member.matchAll(/[^.[\]]+/g)].map(([part]) =>
    /^\d+$/.test(part) ? Number(part) : part,
  )
}
