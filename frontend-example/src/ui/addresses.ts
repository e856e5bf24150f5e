// Addresses inside the app. Ids of sessions may hold any character.
export const sessionAddress = (id: string): string => `/sessions/${encodeURIComponent(id)}`;
export const eventAddress = (id: string, seq: number): string => `${sessionAddress(id)}?seq=${seq}`;
export const lineageAddress = (id: string): string => `${sessionAddress(id)}/lineage`;
