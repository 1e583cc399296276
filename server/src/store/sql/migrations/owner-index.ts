/** Owners alone: an organization may have 100,000 other members. */
export function ownerIndex(): string {
  return `
  CREATE INDEX memberships_of_owners ON memberships (org, username) WHERE role = 'owner';
  `
}
